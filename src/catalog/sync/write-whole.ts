/** Replaces a file atomically through a temporary file beside it. */
import { open, rename, rm } from 'node:fs/promises'

let counter = 0

/** The content is on disk before the file is renamed. */
export async function writeWhole(
  path: string,
  content: string | Iterable<string | Uint8Array>,
): Promise<void> {
  const temporary = `${path}.${process.pid}.${counter++}.tmp`
  try {
    const file = await open(temporary, 'w', 0o600)
    try {
      for (const piece of typeof content === 'string' ? [content] : content) await file.appendFile(piece)
      await file.datasync()
    } finally {
      await file.close()
    }
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}
