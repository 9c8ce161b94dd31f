/** Starts a thread from a file of this project, built or from its sources. */
import { Worker, type WorkerOptions } from 'node:worker_threads'

/** @param file as the sources call it, ending with `.ts` */
export function startThread(file: URL, options: WorkerOptions): Worker {
  // run from sources (tests, development), the thread has to bring the loader of TypeScript along; a build has plain JavaScript
  if (import.meta.url.endsWith('.ts')) {
    const source = JSON.stringify(file.href)
    return new Worker(`import('tsx/esm/api').then(tsx => { tsx.register(); return import(${source}) })`, {
      ...options,
      eval: true,
    })
  }
  return new Worker(new URL(file.href.replace(/\.ts$/, '.js')), options)
}
