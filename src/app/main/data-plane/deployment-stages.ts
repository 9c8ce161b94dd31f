/** Loads and checks the stages of the module that `STAGES` names. */
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import {
  checkStages,
  type DeploymentStage,
  type StageModule,
} from '../../../data-plane/pipeline/deployment-stage.ts'
import { refuse } from '../../../model/refusal.ts'

/** @param path undefined: no module @throws Error naming the file and what is wrong with it */
export async function loadStages(path: string | undefined): Promise<readonly DeploymentStage[]> {
  if (path === undefined) return []
  try {
    const module: { readonly default?: unknown } = await import(pathToFileURL(resolve(path)).href)
    if (typeof module.default !== 'function')
      throw new Error('the default export must be a function that returns a list of stages')
    return checkStages((module.default as StageModule)({ refuse }))
  } catch (error) {
    throw new Error(`${path}: ${error instanceof Error ? error.message : String(error)}`)
  }
}
