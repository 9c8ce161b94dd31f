# METADATA
# title: What the caller was granted
# description: The scopes of the token itself and those that its roles bring (`roles/data.yaml`).
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
