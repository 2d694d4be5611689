import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { setUpClient } from './api/client';
import { makeQueryClient } from './api/query-client';
import { meQuery } from './api/session';
import { reportSessionEnd } from './api/session-end';
import { reloadIfOlder } from './frame/older-build';
import { showKeptTheme } from './frame/theme';
import { makeRouter } from './router';
import './styles/app.css';
import { Toasts } from './ui/toast';
import { styleNonce } from './ui/style-nonce';

showKeptTheme();
setUpClient();
// What Radix asks for the nonce of the few styles that it adds.
Object.assign(globalThis, { __webpack_nonce__: styleNonce() });
window.addEventListener('vite:preloadError', () => void reloadIfOlder());

// Without a page there is nothing to keep: its route leads to the sign-in.
const queryClient = makeQueryClient(() => {
  if (queryClient.getQueryData(meQuery.queryKey)) reportSessionEnd();
});
const router = makeRouter(queryClient);

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
      <Toasts />
    </QueryClientProvider>
  </StrictMode>,
);
