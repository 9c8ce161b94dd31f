/** Starts an example shop, sends requests to it, and checks each response on a documented path against the shop's OpenAPI document. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { type Shop, startShop } from '../../../src/example/shop/shop.ts'
import { SILENT } from '../../../src/telemetry/log.ts'

type Document = { readonly paths: Record<string, Record<string, { readonly operationId?: string }>> }

export interface Responded {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: the tests look into bodies of every shape
  readonly body: any
}

export interface AskOptions {
  readonly body?: unknown
  readonly headers?: Record<string, string>
}

export class ShopClient {
  readonly shop: Shop
  readonly document: Document
  readonly #ajv = new Ajv2020({ strict: false, validateFormats: true })

  private constructor(shop: Shop, document: Document) {
    this.shop = shop
    this.document = document
    formats.default(this.#ajv)
    this.#ajv.addSchema(document, 'shop')
  }

  static async open(): Promise<ShopClient> {
    const shop = await startShop({ host: '127.0.0.1', port: 0, log: SILENT })
    const document = (await (await fetch(`${shop.url}/openapi.json`)).json()) as Document
    return new ShopClient(shop, document)
  }

  /** @param line method and path, such as `GET /orders?page=1` */
  async ask(line: string, { body, headers = {} }: AskOptions = {}): Promise<Responded> {
    const [method, target] = line.split(' ') as [string, string]
    const response = await fetch(`${this.shop.url}${target}`, {
      method,
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    const responded = {
      status: response.status,
      headers: response.headers,
      body: text === '' ? undefined : JSON.parse(text),
    }
    this.#check(method, target.split('?')[0]!, responded)
    return responded
  }

  /** @throws Error when the document does not describe the status or type, or describes another body. A path that it does not list is not checked. */
  #check(method: string, path: string, { status, headers, body }: Responded): void {
    const template = Object.keys(this.document.paths).find(known =>
      new RegExp(`^${known.replace(/\{[^}]+\}/g, '[^/]+')}$`).test(path),
    )
    if (template === undefined) return
    const at = `/paths/${pointerPart(template)}/${method.toLowerCase()}/responses/${status}`
    const response = this.#resolve(at)
    if (response === undefined) throw new Error(`${method} ${path}: status ${status} is not documented`)
    const type = headers.get('content-type') ?? ''
    const { content } = response.value as { content?: Record<string, unknown> }
    if (content === undefined) {
      if (body !== undefined) throw new Error(`${method} ${path}: ${status} is documented without a body`)
      return
    }
    if (content[type] === undefined) throw new Error(`${method} ${path}: ${type} is not documented`)
    const $ref = `shop#${response.at}/content/${pointerPart(type)}/schema`
    const validate = this.#ajv.getSchema($ref) ?? this.#ajv.compile({ $ref })
    if (validate(body) !== true)
      throw new Error(
        `${method} ${path}: ${status} differs from the document: ${this.#ajv.errorsText(validate.errors)}`,
      )
  }

  #resolve(at: string): { readonly at: string; readonly value: object } | undefined {
    let value: unknown = this.document
    for (const part of at.slice(1).split('/'))
      value = (value as Record<string, unknown> | undefined)?.[
        part.replaceAll('~1', '/').replaceAll('~0', '~')
      ]
    if (value === undefined) return undefined
    const { $ref } = value as { $ref?: string }
    return $ref === undefined ? { at, value: value as object } : this.#resolve($ref.slice(1))
  }
}

function pointerPart(part: string): string {
  return part.replaceAll('~', '~0').replaceAll('/', '~1')
}
