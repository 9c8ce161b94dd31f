/** Moves `null` from the types of components to the references to them, because client generators leave such components out. */

interface Node {
  [name: string]: unknown
}

const PREFIX = '#/components/schemas/'

/** Changes the document. */
export function separateNull(document: object): void {
  const { schemas = {} } = ((document as Node).components ?? {}) as { schemas?: Record<string, Node> }
  const nullable = new Map<string, Node>()
  for (const [name, schema] of Object.entries(schemas)) {
    const { type } = schema
    if (!Array.isArray(type) || !type.includes('null')) continue
    const others = type.filter(each => each !== 'null')
    schema.type = others.length === 1 ? others[0] : others
    const ofPlace = schema.default === null ? { default: null } : {}
    if (schema.default === null) delete schema.default
    nullable.set(PREFIX + name, ofPlace)
  }
  visit(document as Node, nullable)
}

/** @param nullable reference → what each place with it has beside the two types */
function visit(node: Node, nullable: ReadonlyMap<string, Node>): void {
  for (const [name, value] of Object.entries(node)) {
    if (typeof value !== 'object' || value === null) continue
    const { $ref, ...beside } = value as { $ref?: unknown }
    if (typeof $ref === 'string') {
      const ofPlace = nullable.get($ref)
      if (ofPlace !== undefined) node[name] = { anyOf: [{ $ref }, { type: 'null' }], ...ofPlace, ...beside }
    } else visit(value as Node, nullable)
  }
}
