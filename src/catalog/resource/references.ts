/** Reads the files that resources of a directory refer to: documents, secrets and files beside a document. */
import { readFile, realpath, stat } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { isMissing } from '../../base/fs/missing.ts'
import { boundSecret, type HostsOfSecret, hostsKeyOf } from '../../model/bound-secret.ts'
import { secretOfTenant } from '../../model/mcp-upstream.ts'
import type { KeyReference } from '../../model/tool-set.ts'
import { MAX_DOCUMENT_BYTES } from '../document/parse-document.ts'
import { FileError } from '../sync/load-files.ts'
import type { ReferenceReader } from '../sync/tool-set-sync.ts'

/** Names were validated with the resource: they contain no separator and no dot segment. */
export function fileReferences(directory: string): ReferenceReader {
  return {
    readDocument: (kind, _, ref) => read(directory, kind === 'secret' ? 'secrets' : 'configmaps', ref),
    readFile: (_, { name }, path) => readBelow(join(directory, 'configmaps', name), path),
    readSecret: async (_, ref) =>
      boundSecret(
        ref,
        (await read(directory, 'secrets', ref)).toString('utf8'),
        await readHosts(directory, ref),
      ),
  }
}

async function read(
  directory: string,
  kind: 'configmaps' | 'secrets',
  { name, key }: KeyReference,
): Promise<Buffer> {
  return readBounded(join(directory, kind, name, key), `${kind}/${name}/${key}`)
}

/**
 * A file in the folder or below it; a symbolic link that leads out of the folder is refused.
 * @param path relative, without dot segments
 */
export async function readBelow(folder: string, path: string): Promise<Buffer> {
  const target = await realpath(join(folder, path)).catch(() => undefined)
  if (target !== undefined && !target.startsWith(`${await realpath(folder)}${sep}`))
    throw new FileError(
      `${path} is a symbolic link to a file outside the folder of the document`,
      'move the file into this folder',
    )
  return readBounded(join(folder, path), path)
}

export function tenantSecretHosts(directory: string): HostsOfSecret {
  const { readSecret } = fileReferences(directory)
  return (tenantName, key) =>
    readSecret('', { name: secretOfTenant(tenantName), key }).then(
      ({ hosts = [] }) => hosts,
      () => undefined,
    )
}

/** undefined: the secret names no hosts for the key. */
async function readHosts(directory: string, { name, key }: KeyReference): Promise<string | undefined> {
  const ref = { name, key: hostsKeyOf(key) }
  try {
    await stat(join(directory, 'secrets', name, ref.key))
  } catch (error) {
    if (isMissing(error)) return undefined
  }
  return (await read(directory, 'secrets', ref)).toString('utf8')
}

async function readBounded(path: string, shown: string): Promise<Buffer> {
  try {
    const { size } = await stat(path)
    if (size > MAX_DOCUMENT_BYTES) throw new Error(`${shown} is larger than ${MAX_DOCUMENT_BYTES / 1e6} MB`)
    return await readFile(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (isMissing(error)) throw new FileError(`${shown} does not exist`, 'create the file')
    if (code === 'EISDIR') throw new FileError(`${shown} is a folder`, 'name a file')
    if (code === 'EACCES' || code === 'EPERM')
      throw new FileError(`${shown} cannot be read`, 'check its permissions')
    if (code !== undefined) throw new Error(`${shown} cannot be read: ${(error as Error).message}`)
    throw error
  }
}
