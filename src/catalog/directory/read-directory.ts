/** Reads the files of the tool-set directory into resources, with the faults of each file. It does not watch the directory. */
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { EXACT_NUMBERS } from '../document/yaml-numbers.ts'
import type { ResourceFault } from '../resource/fields.ts'
import { fillPlaceholders } from '../resource/placeholders.ts'
import { type ResourceResult, readResource } from '../resource/resource.ts'

const MAX_FILES = 10_000
const MAX_DEPTH = 5
const MAX_FILE_BYTES = 6_000_000
/** Read by reference only, not as resources. */
const REFERENCED = new Set(['configmaps', 'secrets'])

/** Of a file, without its folder. */
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

/** All files below the directory in name order, including referenced ones; a missing directory counts as empty. */
export async function listFiles(directory: string): Promise<readonly FileStamp[]> {
  const files: FileStamp[] = []
  await list(directory, '', 0, files)
  return files
}

async function list(directory: string, below: string, depth: number, files: FileStamp[]): Promise<void> {
  let names: string[]
  try {
    names = await readdir(join(directory, below))
  } catch (error) {
    if (depth === 0 && (error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return
  }
  for (const name of names.sort()) {
    // Names with a dot are files of editors and Kubernetes (`..data`), whose content also has a plain name.
    if (name.startsWith('.') || files.length >= MAX_FILES) continue
    const path = below === '' ? name : `${below}/${name}`
    const found = await stat(join(directory, path)).catch(() => undefined)
    if (found?.isDirectory() === true) {
      if (depth < MAX_DEPTH) await list(directory, path, depth + 1, files)
    } else if (found?.isFile() === true) {
      const isResource = !REFERENCED.has(path.split('/', 1)[0]!) && isResourceName(name)
      files.push({
        path,
        stamp: `${found.mtimeMs}:${found.size}:${found.ino}`,
        isResource,
        bytes: found.size,
      })
    }
  }
}

/** The content of one file. `fault`: the file as a whole cannot be read. */
export interface FileContent {
  readonly path: string
  readonly results: readonly ResourceResult[]
  readonly fault: string | undefined
}

interface ReadOptions {
  readonly directory: string
  readonly apiGroup: string
  readonly variables: { readonly [name: string]: string }
}

export async function readResourceFile(file: FileStamp, options: ReadOptions): Promise<FileContent> {
  const { path } = file
  if (file.bytes > MAX_FILE_BYTES) {
    return {
      path,
      results: [],
      fault: `is larger than ${MAX_FILE_BYTES / 1e6} MB: put documents under configmaps/`,
    }
  }
  try {
    const text = await readFile(join(options.directory, path), 'utf8')
    return { path, results: values(text).map(value => readOne(value, options)), fault: undefined }
  } catch (error) {
    return { path, results: [], fault: error instanceof Error ? error.message.slice(0, 300) : String(error) }
  }
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
  return { ok: false, faults, kind, meta: { name: resource.name, namespace: resource.namespace } }
}
