# METADATA
# title: Grants of the caller
# description: |
#   The scopes of the token and of the caller's roles (`roles/data.yaml`), and the operations that confined roles
#   grant without a scope (`confined/data.yaml`). With `SCOPES=intersection`, a caller with a known role has the
#   scopes that both token and roles grant.
package toolgate.granted

# METADATA
# title: Does the caller have this scope?
has(scope) if {
	scope in input.subject.properties.scopes
	not _withheld(scope)
} else if {
	not _both_must_grant
	_by_role(scope)
}

# METADATA
# title: Scopes that would lift a denial
# description: The needed scopes. None if the caller's roles withhold one of them, because no token can grant it then.
obtainable(needed) := needed if {
	every scope in needed { not _withheld(scope) }
} else := []

_withheld(scope) if {
	_both_must_grant
	not _by_role(scope)
}

_by_role(scope) if {
	some role in input.subject.properties.roles
	scope in data.toolgate.roles[role]
}

# a caller without a known role keeps the scopes of the token
_both_must_grant if {
	input.subject.properties.rights == "intersection"
	some role in input.subject.properties.roles
	data.toolgate.roles[role]
}

# METADATA
# title: Does the caller have one of these scopes?
has_one_of(scopes) if {
	some scope in scopes
	has(scope)
}

# METADATA
# title: Does a confined role of the caller grant this operation?
# description: On every resource of the tenant, or on those of the caller's application.
by_confined_role if {
	some role in input.subject.properties.roles
	data.toolgate.confined[role][input.action.name] == "any"
} else if {
	input.resource.properties.own
	some role in input.subject.properties.roles
	data.toolgate.confined[role][input.action.name] == "own"
}
