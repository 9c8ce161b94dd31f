/** The input with which a trial begins: a call of a tool that only reads. */
export const EXAMPLE_INPUT = JSON.stringify(
  {
    subject: {
      type: 'token',
      id: 'someone',
      properties: { consumer: 'demo-viewer', tenant: 'acme', roles: ['viewer'], scopes: ['read'] },
    },
    action: { name: 'tools.call' },
    resource: {
      type: 'tool',
      id: 'shop_getProduct',
      properties: {
        tenant: null,
        toolSet: 'shop',
        tags: [],
        annotations: { readOnlyHint: true, destructiveHint: false },
      },
    },
    context: { access: 'rest', time: 1_790_000_000_000, plan: 'community' },
  },
  undefined,
  2,
)
