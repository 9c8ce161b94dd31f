/** Holds the Unix sockets and folders that `EGRESS_ALLOW` lists, and says whether they include a path. */
import { socketPathFault } from '../../model/upstream-url.ts'

const PREFIX = 'unix:'

export function isSocketEntry(entry: string): boolean {
  return entry.startsWith(PREFIX)
}

export class AllowedSockets {
  readonly #paths = new Set<string>()
  /** Each with its closing slash. */
  readonly #folders: string[] = []

  /**
   * @param entry of `EGRESS_ALLOW`: `unix:/run/backends/shop.sock`, or `unix:/run/backends/` for all sockets directly or below
   * @throws Error naming the entry
   */
  add(entry: string): void {
    const path = entry.slice(PREFIX.length)
    const isFolder = path.endsWith('/')
    const fault = path === '/' ? 'allows every socket' : socketPathFault(isFolder ? path.slice(0, -1) : path)
    if (fault !== undefined)
      throw new Error(
        `EGRESS_ALLOW: the path in "${entry}" ${fault}. Write "unix:/run/backends/shop.sock" for one socket, or "unix:/run/backends/" for all sockets in a folder and its subfolders.`,
      )
    if (isFolder) this.#folders.push(path)
    else this.#paths.add(path)
  }

  /** @param path absolute, without `.` and `..` */
  has(path: string): boolean {
    return this.#paths.has(path) || this.#folders.some(folder => path.startsWith(folder))
  }
}
