# METADATA
# title: Scopes
# description: |
#   An operation needs the scopes in `operations/data.yaml`; calling a tool that may destroy something also
#   needs `write`. Each reason names the scopes that would be enough, so that a client can request them. An
#   operation that a confined role grants needs no scope.
package toolgate.rules.scope

import data.toolgate.granted

# METADATA
# title: A scope is missing
# description: The operation needs several scopes, and the caller lacks one.
# custom:
#   reason_code: insufficient_scope
deny contains {"code": code, "message": message, "scopes": granted.obtainable(required)} if {
	not granted.by_confined_role
	required := _required(data.toolgate.operations[input.action.name])
	some scope in required
	not granted.has(scope)
	code := rego.metadata.rule().custom.reason_code
	message := concat("", ["The request needs the scope ", concat(" and ", required), "."])
}

# METADATA
# title: None of the scopes
# description: One of several scopes is enough, but the caller has none of them.
# custom:
#   reason_code: insufficient_scope
deny contains {"code": code, "message": message, "scopes": granted.obtainable([scopes[0]])} if {
	not granted.by_confined_role
	scopes := data.toolgate.operations[input.action.name].any
	not granted.has_one_of(scopes)
	code := rego.metadata.rule().custom.reason_code
	message := concat("", ["The request needs the scope ", concat(" or ", scopes), "."])
}

# METADATA
# title: A destructive tool needs the scope write
# description: |
#   The tool is not read-only and may destroy something. Missing hints have the defaults of MCP: not read-only,
#   and destructive.
# custom:
#   reason_code: insufficient_scope
# related_resources:
#   - description: MCP 2025-06-18, ToolAnnotations
#     ref: https://modelcontextprotocol.io/specification/2025-06-18/schema#toolannotations
deny contains {"code": code, "message": message, "scopes": granted.obtainable(["write"])} if {
	input.action.name == "tools.call"
	not input.resource.properties.annotations.readOnlyHint
	not granted.has("write")
	not _harmless
	code := rego.metadata.rule().custom.reason_code
	message := "The tool may be destructive: the request needs the scope write."
}

_required(needs) := needs.shared if {
	input.resource.properties.tenant == null
} else := needs.all

_harmless if input.resource.properties.annotations.destructiveHint == false
