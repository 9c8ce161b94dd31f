# METADATA
# title: What the caller was granted
# description: |
#   The scopes of the token itself and those that its roles bring (`roles/data.yaml`), and the operations that
#   confined roles grant without a scope (`confined/data.yaml`).
package toolgate.granted

# METADATA
# title: Has the caller this scope?
has(scope) if {
	scope in input.subject.properties.scopes
} else if {
	some role in input.subject.properties.roles
	scope in data.toolgate.roles[role]
}

# METADATA
# title: Has the caller one of these scopes?
has_one_of(scopes) if {
	some scope in scopes
	has(scope)
}

# METADATA
# title: Does a confined role of the caller grant this operation?
# description: On everything of the tenant, or on what belongs to the caller's own application.
by_confined_role if {
	some role in input.subject.properties.roles
	data.toolgate.confined[role][input.action.name] == "any"
} else if {
	input.resource.properties.own
	some role in input.subject.properties.roles
	data.toolgate.confined[role][input.action.name] == "own"
}
