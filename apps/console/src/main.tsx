import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { setUpClient } from './api/client';
import { createQueryClient } from './api/query-client';
import { meQuery } from './api/session';
import { reportSessionEnd } from './api/session-end';
import { reloadIfOlder } from './frame/older-build';
import { showSavedTheme } from './frame/theme';
import { makeRouter } from './router';
import './styles/app.css';
import { Toasts } from './ui/toast';
import { readStyleNonce } from './ui/read-style-nonce';

showSavedTheme();
setUpClient();
// Radix reads the nonce for the styles that it adds from this global.
Object.assign(globalThis, { __webpack_nonce__: readStyleNonce() });
window.addEventListener('vite:preloadError', () => void reloadIfOlder());

// Before the user is loaded, no page is open whose input must be preserved; the route redirects to the sign-in.
const queryClient = createQueryClient(() => {
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
