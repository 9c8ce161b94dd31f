# METADATA
# title: Tenants
# description: |
#   A resource is for the callers of its tenant, or for all callers when it belongs to no tenant. A caller who
#   acts for another tenant (`X-Tenant-ID`, `cpi-admin` only) appears here as a caller of that tenant. Operations
#   marked `every_tenant` are the exception: they reach every tenant, so a scope alone does not grant them to a
#   caller who belongs to a tenant.
package toolgate.rules.tenant

# METADATA
# title: Another tenant
# description: The resource belongs to a tenant for which the caller does not act. No scope would help.
# custom:
#   reason_code: other_tenant
deny contains {"code": code, "message": "The resource belongs to another tenant."} if {
	not _within_reach
	not _about_every_tenant
	code := rego.metadata.rule().custom.reason_code
}

# METADATA
# title: Every tenant
# description: The operation concerns all tenants, but the caller belongs to a single tenant. No scope would help.
# custom:
#   reason_code: every_tenant
deny contains {"code": code, "message": message} if {
	not _within_reach
	_about_every_tenant
	code := rego.metadata.rule().custom.reason_code
	message := "The request concerns all tenants. It needs the role cpi-admin, or a token without a tenant."
}

_within_reach if {
	input.resource.properties.tenant == input.subject.properties.tenant
} else if {
	input.resource.properties.tenant == null
	not _about_every_tenant
} else if {
	data.toolgate.operations[input.action.name].every_tenant
	"cpi-admin" in input.subject.properties.roles
} else if {
	data.toolgate.operations[input.action.name].every_tenant
	input.subject.properties.tenant == null
}

_about_every_tenant if {
	data.toolgate.operations[input.action.name].every_tenant
	input.resource.properties.tenant == null
}
