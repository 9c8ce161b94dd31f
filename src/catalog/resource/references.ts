/** Reads `configMapRef` and `secretRef` of the directory source from files below the directory. It reads no other file. */
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { KeyReference } from '../../model/tool-set.ts'
import { MAX_DOCUMENT_BYTES } from '../document/parse-document.ts'
import type { ReferenceReader } from '../sync/tool-set-sync.ts'

/** Names were validated with the resource: they contain no separator and no dot segment. */
export function fileReferences(directory: string): ReferenceReader {
  return {
    readDocument: (kind, _, ref) => read(directory, kind === 'secret' ? 'secrets' : 'configmaps', ref),
    readSecret: async (_, ref) =>
      (await read(directory, 'secrets', ref)).toString('utf8').replace(/\r?\n$/, ''),
  }
}

async function read(
  directory: string,
  kind: 'configmaps' | 'secrets',
  { name, key }: KeyReference,
): Promise<Buffer> {
  const shown = `${kind}/${name}/${key}`
  const path = join(directory, kind, name, key)
  try {
    const { size } = await stat(path)
    if (size > MAX_DOCUMENT_BYTES) throw new Error(`${shown} is larger than ${MAX_DOCUMENT_BYTES / 1e6} MB`)
    return await readFile(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      throw new Error(`${shown} does not exist: create the file in the tool-set directory`)
    }
    if ((error as NodeJS.ErrnoException).code !== undefined)
      throw new Error(`${shown} cannot be read: check its permissions`)
    throw error
  }
}
