/** The contract of a source of tools on the directory source. */
import { describe } from 'vitest'
import { openDirectory } from './directory-world.ts'
import { sourceLife } from './source-life.ts'
import { sourceTables } from './source-tables.ts'

describe('tables: directory', () => sourceTables(openDirectory))
describe('life: directory', () => sourceLife(openDirectory))
