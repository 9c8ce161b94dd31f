/** What a source of tools is tested through: resources go in, tools and status come out. `directory` here, a cluster in test/services. */
import type { Tool } from '../../../src/model/tool.ts'
import type { ToolSetStatus } from '../../../src/model/tool-set.ts'

export interface SourceWorld {
  /** Writes a ToolSet; returns the reason when it was refused, otherwise undefined. */
  put(name: string, spec: object, meta?: Meta): Promise<string | undefined>
  remove(name: string, namespace?: string): Promise<void>
  /** One key of a ConfigMap or Secret in the namespace of the tests. */
  putKey(kind: 'ConfigMap' | 'Secret', name: string, key: string, text: string): Promise<void>
  /** Edits a generated tool by hand. */
  editTool(name: string, fields: object): Promise<void>
  /** Stops the source and starts another on what the first left behind. */
  restart(): Promise<void>
  /** Every set of tools that was published, in order. */
  readonly published: readonly (readonly Tool[])[]
  status(name: string, namespace?: string): Promise<ToolSetStatus | undefined>
  close(): Promise<void>
}

export interface Meta {
  readonly namespace?: string
  readonly annotations?: { readonly [name: string]: string }
}

export const NAMESPACE = 'tenant-acme'
export const API_VERSION = 'toolgate.dev/v1alpha1'
export const BASE_URL = 'http://backend.test'

/** The tools of one tool-set, by name. */
export function toolsOf(world: SourceWorld, toolSet: string): readonly Tool[] {
  const all = world.published.at(-1) ?? []
  return all.filter(tool => tool.toolSet === toolSet).sort((a, b) => (a.name < b.name ? -1 : 1))
}

export function namesOf(world: SourceWorld, toolSet: string): string {
  return toolsOf(world, toolSet)
    .map(tool => tool.name)
    .join(' ')
}

/** Waits until the check returns a value other than undefined or false. */
export async function eventually<T>(
  check: () => Promise<T | undefined | false> | T | undefined | false,
  what: string,
  timeoutMs = 20_000,
): Promise<T> {
  const end = Date.now() + timeoutMs
  let last: unknown
  for (;;) {
    try {
      const found = await check()
      if (found !== undefined && found !== false) return found
    } catch (error) {
      last = error
    }
    if (Date.now() > end)
      throw new Error(
        `waited ${timeoutMs / 1000} s for ${what}${last === undefined ? '' : `: ${String(last)}`}`,
      )
    await new Promise(resolve => setTimeout(resolve, 25))
  }
}

/** Waits until the status shows this phase; right after a change it may still be the status of the state before. */
export function phaseOf(
  world: SourceWorld,
  name: string,
  phase: ToolSetStatus['phase'],
  namespace?: string,
): Promise<ToolSetStatus> {
  return eventually(async () => {
    const status = await world.status(name, namespace)
    return status?.phase === phase && status
  }, `the phase ${phase} of ${name}`)
}

/** Puts a tool-set with a base address and waits until its tools are served. */
export async function ready(
  world: SourceWorld,
  name: string,
  spec: object,
  meta?: Meta,
): Promise<readonly Tool[]> {
  const refused = await world.put(name, { baseURL: BASE_URL, ...spec }, meta)
  if (refused !== undefined) throw new Error(`${name} was refused: ${refused}`)
  const { toolCount } = await phaseOf(world, name, 'Ready', meta?.namespace)
  return eventually(() => {
    const tools = toolsOf(world, name)
    return tools.length === toolCount && tools
  }, `the tools of ${name}`)
}

/** An OpenAPI document of the given operations; by default each is a GET of a separate path. */
export function documentOf(
  operations: {
    readonly [id: string]: { path?: string; method?: string; tags?: string[]; summary?: string }
  },
  rest: object = {},
): string {
  const paths: Record<string, Record<string, object>> = {}
  for (const [id, { path = `/${id}`, method = 'get', tags, summary = `Does ${id}.` }] of Object.entries(
    operations,
  )) {
    paths[path] = {
      ...paths[path],
      [method]: { operationId: id, summary, ...(tags === undefined ? {} : { tags }) },
    }
  }
  return JSON.stringify({ openapi: '3.1.0', info: { title: 'T', version: '1' }, paths, ...rest })
}

/** `openAPISpec` with the given operations. */
export function inline(...ids: string[]): { openAPISpec: { inline: string } } {
  return { openAPISpec: { inline: documentOf(Object.fromEntries(ids.map(id => [id, {}]))) } }
}
