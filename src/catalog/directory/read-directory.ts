/** Lists the files of a directory, and reads resource files into resources and faults. `watch-directory.ts` watches the directory. */
import { open, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { isMissing, namesIn } from '../../base/fs/missing.ts'
import type { ResourceFault } from '../../model/resource-fault.ts'
import { EXACT_NUMBERS } from '../document/yaml-numbers.ts'
import { fillPlaceholders } from '../resource/placeholders.ts'
import { type ResourceResult, readResource } from '../resource/resource.ts'
import type { ToolTarget } from '../resource/tool-target.ts'

const MAX_FILES = 10_000
const MAX_DEPTH = 5
const MAX_FILE_BYTES = 6_000_000
/** Read by reference only, not as resources. */
const REFERENCED = new Set(['configmaps', 'secrets'])

/** Relative to the directory: it is read when a resource names it. */
export function isReferenced(path: string): boolean {
  return REFERENCED.has(path.split('/', 1)[0]!)
}

/** For a file, without its folder. */
export function isResourceName(name: string): boolean {
  return /^[^.].*\.(ya?ml|json)$/.test(name)
}

export interface FileStamp {
  /** Relative to the directory. */
  readonly path: string
  /** Changes when the file does. */
  readonly stamp: string
  readonly isResource: boolean
  readonly bytes: number
}

const ANY_TOOL: ToolTarget = { namespace: undefined, name: undefined }

/** A file or folder below the directory that cannot be looked at (EACCES, EIO): what it holds is not known. */
export interface UnknownPath {
  readonly path: string
  readonly fault: string
  /** The tools that Tool resources in it may restrict; none for a folder, which may be one of the file system, such as `lost+found`. */
  readonly targets: readonly ToolTarget[]
}

export interface Listing {
  readonly files: readonly FileStamp[]
  readonly unknown: readonly UnknownPath[]
}

/**
 * The files below the directory in name order, including referenced ones, up to MAX_FILES and MAX_DEPTH; a missing directory counts as empty.
 * @throws Error of the file system when the directory itself cannot be read
 */
export async function listFiles(directory: string): Promise<Listing> {
  const listing = { files: [] as FileStamp[], unknown: [] as UnknownPath[] }
  await list(directory, await namesIn(directory), '', 0, listing)
  return listing
}

async function list(
  directory: string,
  names: string[],
  below: string,
  depth: number,
  { files, unknown }: { readonly files: FileStamp[]; readonly unknown: UnknownPath[] },
): Promise<void> {
  for (const name of names.sort()) {
    // Names with a dot are files of editors and Kubernetes (`..data`), whose content also has a plain name.
    if (name.startsWith('.') || files.length >= MAX_FILES) continue
    const path = below === '' ? name : `${below}/${name}`
    const isResource = !isReferenced(path) && isResourceName(name)
    let isFolder = false
    try {
      const found = await stat(join(directory, path))
      isFolder = found.isDirectory()
      if (isFolder && depth < MAX_DEPTH)
        await list(directory, await namesIn(join(directory, path)), path, depth + 1, { files, unknown })
      else if (found.isFile())
        files.push({
          path,
          stamp: `${found.mtimeMs}:${found.size}:${found.ino}`,
          isResource,
          bytes: found.size,
        })
    } catch (error) {
      // removed since its folder was listed, or a link to nothing
      if (isMissing(error)) continue
      const targets = isResource && !isFolder ? [ANY_TOOL] : []
      unknown.push({ path, fault: `cannot be read: ${(error as Error).message}`, targets })
    }
  }
}

/** The content of one file. `fault`: the file as a whole cannot be read. */
export interface FileContent {
  readonly path: string
  readonly results: readonly ResourceResult[]
  readonly fault: string | undefined
  /** The tools that Tool resources in a file without results may restrict. */
  readonly targets: readonly ToolTarget[]
}

interface ReadOptions {
  readonly directory: string
  readonly apiGroup: string
  readonly variables: { readonly [name: string]: string }
}

export async function readResourceFile(file: FileStamp, options: ReadOptions): Promise<FileContent> {
  const { path } = file
  const whole = join(options.directory, path)
  let content = ''
  try {
    if (file.bytes > MAX_FILE_BYTES) {
      content = await beginningOf(whole)
      throw new Error(
        `is larger than ${MAX_FILE_BYTES / 1e6} MB, the limit for a resource file: move OpenAPI documents to the folder "configmaps"`,
      )
    }
    content = await readFile(whole, 'utf8')
    const results = values(content).map(value => readOne(value, options))
    return { path, results, fault: undefined, targets: [] }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const text = error instanceof Error ? error.message.slice(0, 300) : String(error)
    const fault = code === undefined ? text : `cannot be read: ${text}`
    // removed since the directory was listed; another file that cannot be read may hold any resource
    const targets = code === undefined ? targetsIn(content) : isMissing(error) ? [] : [ANY_TOOL]
    return { path, results: [], fault, targets }
  }
}

async function beginningOf(path: string): Promise<string> {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_FILE_BYTES), 0, MAX_FILE_BYTES, 0)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await file.close()
  }
}

/** For a text that is not a list of resources: the namespaces it names, if it holds a Tool. Its names may be of other resources. */
function targetsIn(content: string): readonly ToolTarget[] {
  if (!/\bkind["']?\s*:\s*["']?Tool\b/.test(content)) return []
  const found = content.matchAll(/\bnamespace["']?\s*:\s*["']?([a-z0-9][-a-z0-9]{0,62})/g)
  const namespaces = new Set([...found].map(match => match[1]!))
  if (namespaces.size === 0) return [ANY_TOOL]
  return [...namespaces].map(namespace => ({ namespace, name: undefined }))
}

/** The documents of a YAML stream, without empty ones. */
function values(text: string): unknown[] {
  const found: unknown[] = []
  for (const document of parseAllDocuments(text, { ...EXACT_NUMBERS, logLevel: 'silent' })) {
    if (!('toJS' in document)) continue
    const fault = document.errors[0]
    if (fault !== undefined) throw new Error(`is not valid YAML: ${fault.message}`)
    const value: unknown = document.toJS({ maxAliasCount: 100 })
    if (value !== null && value !== undefined) found.push(value)
  }
  return found
}

function readOne(value: unknown, options: ReadOptions): ResourceResult {
  const faults: ResourceFault[] = []
  const filled = fillPlaceholders(value, options.variables, faults)
  const result = readResource(filled, options.apiGroup)
  if (faults.length === 0) return result
  if (!result.ok) return { ...result, faults: [...faults, ...result.faults] }
  const { kind, value: resource } = result.resource
  const meta = { name: resource.name, namespace: resource.namespace }
  return { ok: false, faults, kind, meta, target: kind === 'Tool' ? meta : undefined }
}
