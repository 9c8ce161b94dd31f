# METADATA
# title: Roles
# description: |
#   Some operations need a role in addition to the scopes, because any program can have a scope, but only some
#   users may decide for other users. With `own`, the owner of the resource needs no role. With `shared`, an
#   operation on a resource that belongs to no tenant needs no role, because it needs another scope.
package toolgate.rules.role

# METADATA
# title: A role is missing
# description: The caller has none of the roles that the operation needs. No scope would help.
# custom:
#   reason_code: role_required
deny contains {"code": code, "message": message} if {
	needs := data.toolgate.operations[input.action.name]
	not _has_one_of(needs.roles)
	not _spared(needs)
	code := rego.metadata.rule().custom.reason_code
	message := concat("", ["The request needs the role ", concat(" or ", needs.roles), "."])
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
