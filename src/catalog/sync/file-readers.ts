/** Readers of the files that a document may refer to: from its origin, from stored copies, from its folder, or none. */
import { shownAddress } from '../../base/shown-address.ts'
import type { Egress } from '../../net/egress/egress.ts'
import type { StoredFile } from './document-store.ts'
import { fetchDocument } from './fetch-document.ts'
import { type FileReader, RequiredFileError } from './load-files.ts'

/** A path segment that names the same file in an address, a folder and a ConfigMap. */
const SEGMENT = /^(?!\.{1,2}$)[^/\\\0]{1,253}$/

/**
 * Files of the origin of the document, through the guard of the egress client and without redirects.
 * @param stored files of the last synchronization: for conditional requests, and required
 * @param seen receives every file that was read
 */
export function originFiles(
  egress: Egress,
  uri: string,
  stored: ReadonlyMap<string, StoredFile>,
  seen: Map<string, StoredFile>,
): FileReader {
  const { origin } = new URL(uri)
  return {
    uri,
    refusal(address) {
      const url = new URL(address)
      if (url.origin === origin && url.username === '' && url.password === '') return undefined
      return {
        reason: `${shownAddress(address)} is not at ${origin}, the origin of the document: the gateway reads files from this origin only`,
        fix: 'serve the file from the origin of the document, or join the files into one document with a bundler',
      }
    },
    async read(address) {
      const before = stored.get(address)
      try {
        const fetched = await fetchDocument(egress, address, before?.etag)
        const file = fetched.kind === 'unmodified' ? before! : fetched
        seen.set(address, { etag: file.etag, bytes: file.bytes })
        return file.bytes
      } catch (error) {
        if (before !== undefined) throw new RequiredFileError((error as Error).message)
        throw error
      }
    },
    fix: 'correct the reference, or check that the gateway can fetch the file from its address',
  }
}

/** The files of the last synchronization, for a document that is unavailable. */
export function storedFiles(uri: string, stored: ReadonlyMap<string, StoredFile>): FileReader {
  return {
    uri,
    refusal: () => undefined,
    async read(address) {
      const file = stored.get(address)
      if (file === undefined) throw new Error(`the gateway has no stored copy of ${shownAddress(address)}`)
      return file.bytes
    },
    fix: 'make the document available at its address: the gateway then fetches the files again',
  }
}

/**
 * Files in one folder and below it.
 * @param uri address of the document; its folder is the last `/`
 * @param read receives the path relative to the folder
 */
export function folderFiles(uri: string, read: (path: string) => Promise<string | Uint8Array>): FileReader {
  const folder = new URL('.', uri).href
  return {
    uri,
    refusal(address) {
      if (pathIn(folder, address) !== undefined) return undefined
      return {
        reason: 'the file is not in the folder of the document',
        fix: 'move the file into the folder of the document, or join the files into one document with a bundler',
      }
    },
    read: address => read(pathIn(folder, address)!),
    fix: 'correct the reference, or add the file',
  }
}

function pathIn(folder: string, address: string): string | undefined {
  if (!address.startsWith(folder) || address.includes('?')) return undefined
  try {
    const segments = address.slice(folder.length).split('/').map(decodeURIComponent)
    return segments.every(segment => SEGMENT.test(segment)) ? segments.join('/') : undefined
  } catch {
    return undefined
  }
}

/** Documents that have no files beside them, with the fix for a reference to one. */
const WITHOUT_FILES = {
  inline: {
    source: 'an inline document',
    fix: 'provide the document by url or configMapRef, or join the files into one document with a bundler',
  },
  secret: {
    source: 'a document in a Secret',
    fix: 'move the document and its files to a ConfigMap, or join the files into one document with a bundler',
  },
  listing: {
    source: 'a list of tools',
    fix: 'correct the schemas at the MCP server: each $ref must begin with "#"',
  },
} as const

export function noFiles(kind: keyof typeof WITHOUT_FILES): FileReader {
  const { source, fix } = WITHOUT_FILES[kind]
  return {
    uri: 'document:///document',
    refusal: () => ({ reason: `${source} cannot refer to other files`, fix }),
    read: () => Promise.reject(new Error('not read')),
    fix,
  }
}
