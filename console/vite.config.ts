/** How the console is built: one page, hashed files, no reference to another origin. It configures no test. */
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  // relative to the <base> of the page, so that it works behind any path prefix
  base: './',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: '../dist/console/static',
    emptyOutDir: true,
    target: ['es2022', 'chrome123', 'firefox121', 'safari17.5'],
    // data: addresses would not be cached apart
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // of the packages in the bundle; it is shipped beside it
    license: { fileName: 'licenses.md' },
  },
})
