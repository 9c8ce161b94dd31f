# METADATA
# title: Grants of the caller
# description: |
#   The scopes of the token and of its roles (`roles/data.yaml`), and the operations that confined roles grant
#   without a scope (`confined/data.yaml`).
package toolgate.granted

# METADATA
# title: Does the caller have this scope?
has(scope) if {
	scope in input.subject.properties.scopes
} else if {
	some role in input.subject.properties.roles
	scope in data.toolgate.roles[role]
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
