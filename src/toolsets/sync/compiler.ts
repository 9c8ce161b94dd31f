/** Where documents are compiled. */
import { runCompileJob, type ToolSetCompiler } from './compile-job.ts'

export function createCompiler(): ToolSetCompiler {
  return { compile: async job => runCompileJob(job), close: async () => {} }
}
