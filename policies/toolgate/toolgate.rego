# METADATA
# title: Toolgate's policy
# description: |
#   Combines the rules into one decision. A rule is a package below `rules/`, or below `tools/` for one tool. It
#   denies a request by adding to the `deny` of its package. A request that no rule denies is allowed. This file
#   does not change when a rule is added.
package toolgate

# METADATA
# title: May the subject perform the action?
# description: |
#   `allow`, the reasons for a denial (at least one, since `rules/operation` denies unknown operations), and the
#   obligations of a permission.
# entrypoint: true
# custom:
#   reads:
#     - action.name
#     - resource.id
#     - resource.properties.annotations.destructiveHint
#     - resource.properties.annotations.readOnlyHint
#     - resource.properties.own
#     - resource.properties.tenant
#     - subject.properties.rights
#     - subject.properties.roles
#     - subject.properties.scopes
#     - subject.properties.tenant
decision := {"allow": count(_reasons) == 0, "reasons": _reasons, "obligations": _obligations}

# regal ignore:mixed-iteration
_reasons contains reason if some reason in data.toolgate.rules[_].deny

# only the rules of this tool are evaluated, however many tools have rules
_reasons contains reason if some reason in data.toolgate.tools[input.resource.id].deny

# two rules with different parameters for one obligation contradict each other: the evaluation fails, which denies
# regal ignore:mixed-iteration
_obligations[name] := parameters if some name, parameters in data.toolgate.rules[_].obligations

_obligations[name] := parameters if some name, parameters in data.toolgate.tools[input.resource.id].obligations
