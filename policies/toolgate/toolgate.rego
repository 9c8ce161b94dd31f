# METADATA
# title: Toolgate's policy
# description: |
#   Puts the rules together into one decision. A rule is a package below `rules/`, or below `tools/` when it is
#   about the one tool of that name; it denies by adding to its own `deny`, and what no rule denies is allowed.
#   Nothing needs to be changed here to add a rule.
package toolgate

# METADATA
# title: May the subject do this?
# description: |
#   `allow`, the reasons of a denial (at least one: an operation that is not known is denied by a rule of its
#   own), and the obligations under which it is allowed.
# entrypoint: true
# custom:
#   reads:
#     - action.name
#     - resource.id
#     - resource.properties.annotations.destructiveHint
#     - resource.properties.annotations.readOnlyHint
#     - resource.properties.own
#     - resource.properties.tenant
#     - subject.properties.roles
#     - subject.properties.scopes
#     - subject.properties.tenant
decision := {"allow": count(_reasons) == 0, "reasons": _reasons, "obligations": _obligations}

# regal ignore:mixed-iteration
_reasons contains reason if some reason in data.toolgate.rules[_].deny

# only the rules of this one tool are evaluated, however many tools have rules
_reasons contains reason if some reason in data.toolgate.tools[input.resource.id].deny

# two rules that ask for different things under one name contradict each other: the evaluation fails, which denies
# regal ignore:mixed-iteration
_obligations[name] := parameters if some name, parameters in data.toolgate.rules[_].obligations

_obligations[name] := parameters if some name, parameters in data.toolgate.tools[input.resource.id].obligations
