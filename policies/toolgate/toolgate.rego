# METADATA
# title: Toolgate's policy
# description: |
#   Puts the rules together into one decision. A rule is a package below `rules/`; it denies by adding to its
#   own `deny`, and what no rule denies is allowed. Nothing needs to be changed here to add a rule.
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
#     - resource.properties.annotations.destructiveHint
#     - resource.properties.annotations.readOnlyHint
#     - resource.properties.own
#     - resource.properties.tenant
#     - subject.properties.roles
#     - subject.properties.scopes
#     - subject.properties.tenant
decision := {"allow": count(reasons) == 0, "reasons": reasons, "obligations": obligations} if {
	# regal ignore:mixed-iteration
	reasons := {reason | some reason in data.toolgate.rules[_].deny}

	# two rules that ask for different things under one name contradict each other: the evaluation fails, which denies
	# regal ignore:mixed-iteration
	obligations := {name: parameters | some name, parameters in data.toolgate.rules[_].obligations}
}
