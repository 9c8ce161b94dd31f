# METADATA
# title: Roles
# description: |
#   Some operations need a role besides the scopes: a scope may be given to any program, deciding about others
#   is for people. The owner may need none (`own`), and neither does an operation on what belongs to no tenant
#   and needs a scope of its own (`shared`).
package toolgate.rules.role

# METADATA
# title: A role is missing
# description: The caller has none of the roles that the operation asks for. No scope would help.
# custom:
#   reason_code: role_required
deny contains {"code": code, "message": message} if {
	needs := data.toolgate.operations[input.action.name]
	not _has_one_of(needs.roles)
	not _spared(needs)
	code := rego.metadata.rule().custom.reason_code
	message := concat("", ["This needs the role ", concat(" or ", needs.roles), "."])
}

_has_one_of(roles) if {
	some role in input.subject.properties.roles
	role in roles
}

_spared(needs) if {
	needs.own
	input.resource.properties.own
}

_spared(needs) if {
	needs.shared
	input.resource.properties.tenant == null
}
