/** Zod with the `.openapi()` method, which every schema of the control plane imports from here. It declares no schema. */
import { extendZodWithOpenApi } from '@asteasolutions/zod-to-openapi'
import { z } from 'zod'

extendZodWithOpenApi(z)

export { z }
