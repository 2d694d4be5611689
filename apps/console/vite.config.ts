import { fileURLToPath } from 'node:url';
import tailwind from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { compressFilesPlugin } from './vite/compressed';
import { developmentProxyPlugin } from './vite/to-development-stack';

const resolvePath = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const firstPort = Number(process.env['MUSTER_DEV_PORT'] ?? 4000);

export default defineConfig({
  root: resolvePath('.'),
  base: '/app/',
  // Placeholder: the gateway replaces it with a new nonce in every response.
  html: { cspNonce: '__CSP_NONCE__' },
  resolve: {
    alias: {
      '@muster/contracts/words': resolvePath('../../libs/contracts/src/words.ts'),
      '@muster/sdk/operations': resolvePath('../../libs/sdk/src/operations.ts'),
    },
  },
  plugins: [
    react(),
    tailwind(),
    developmentProxyPlugin(firstPort, process.env['MUSTER_DEV_SERVICE']),
    compressFilesPlugin(),
  ],
  server: { host: '127.0.0.1', port: firstPort + 8, strictPort: true },
  build: {
    outDir: resolvePath('../../dist/apps/console'),
    emptyOutDir: true,
    target: ['chrome123', 'firefox121', 'safari17.5'],
    // Inlined assets become data: URLs, which the content security policy does not allow.
    assetsInlineLimit: 0,
    manifest: true,
    reportCompressedSize: false,
  },
});
