/** Zod with the `.openapi()` method; every schema of the control plane imports it from here. It declares none. */
import { extendZodWithOpenApi } from '@asteasolutions/zod-to-openapi'
import { z } from 'zod'

extendZodWithOpenApi(z)

export { z }
