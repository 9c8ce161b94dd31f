/** Texts that agents read: without HTML, and without titles that repeat a name. */
import { describe, expect, it } from 'vitest'
import { onlyTool, openapi, withBody, withParameters } from './build.ts'

describe('HTML', () => {
  it.each([
    ['<p>Reads <b>all</b> orders.</p><p>Newest first.</p>', 'Reads all orders.\nNewest first.'],
    ['Either:<ul><li>one</li><li>two</li></ul>', 'Either:\n- one\n- two'],
    ['See <a href="https://docs.test/a?b=c">the guide</a>.<br/>Done', 'See the guide.\nDone'],
    ['a &lt; b &amp;&amp; c &#62; d &#x27;e&#x27; &nbsp;f &unknown;', "a < b && c > d 'e' f &unknown;"],
    ['<script>alert(1)</script><!-- note -->Text', 'Text'],
    ['Send <token> to List<String>, 1 < 2 and 3 > 2', 'Send <token> to List<String>, 1 < 2 and 3 > 2'],
    ['zero&#8203;width', 'zerowidth'],
  ])('%s', (given, expected) => {
    const tool = onlyTool(openapi({ '/a': { get: { operationId: 'a', description: given } } }))
    expect(tool.description).toBe(expected)
  })

  it('is removed from summaries and parameters, not from examples', () => {
    const parameter = { name: 'p', in: 'query', description: '<i>Page</i>', schema: { example: '<b>x</b>' } }
    const { inputSchema } = onlyTool(withParameters('/a', [parameter]))
    expect(inputSchema.properties?.p).toMatchObject({ description: 'Page\nExample: <b>x</b>' })
    const operation = { operationId: 'a', summary: '<p>List</p>' }
    expect(onlyTool(openapi({ '/a': { get: operation } })).title).toBe('List')
  })
})

describe('titles of schemas', () => {
  it('that repeat the name of a field or definition, or begin the description, are left out', () => {
    const order = {
      title: 'Order',
      type: 'object',
      properties: {
        order_id: { type: 'string', title: 'Order Id' },
        note: { type: 'string', title: 'For the kitchen' },
        size: { type: 'string', title: 'Size of the cup', description: 'Size of the cup in ml.' },
      },
    }
    const tool = onlyTool(
      withBody(
        { type: 'object', properties: { order: { $ref: '#/components/schemas/Order' } } },
        { components: { schemas: { Order: order } } },
      ),
    )
    const text = JSON.stringify(tool.inputSchema)
    expect(text).not.toContain('"title":"Order')
    expect(text).not.toContain('"title":"Size')
    expect(text).toContain('"title":"For the kitchen"')
  })

  it('a field with the name title stays', () => {
    const tool = onlyTool(
      withBody({ type: 'object', properties: { title: { type: 'string', title: 'Title' } } }),
    )
    expect(tool.inputSchema.properties).toEqual({ title: { type: 'string' } })
  })
})
