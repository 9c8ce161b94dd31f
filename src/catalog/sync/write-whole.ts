/** Writes a file so that whoever reads it finds the old or the new content, never a part, whenever the process dies. */
import { open, rename, rm } from 'node:fs/promises'

let counter = 0

/** Content is on the disk before the name points to it. */
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
