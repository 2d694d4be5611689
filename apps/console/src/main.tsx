import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { setUpClient } from './api/client';
import { makeQueryClient } from './api/query-client';
import { showKeptTheme } from './frame/theme';
import { makeRouter } from './router';
import './styles/app.css';
import { Toasts } from './ui/toast';
import { styleNonce } from './ui/style-nonce';

showKeptTheme();
setUpClient();
// What Radix asks for the nonce of the few styles that it adds.
Object.assign(globalThis, { __webpack_nonce__: styleNonce() });
// A page of an older build whose parts have gone: the newer one is what is wanted. Once; then the fault is shown.
window.addEventListener('vite:preloadError', (event) => {
  if (sessionStorage.getItem('muster-reloaded') === location.href) return;
  sessionStorage.setItem('muster-reloaded', location.href);
  event.preventDefault();
  location.reload();
});

const queryClient = makeQueryClient(() => {
  const { pathname, searchStr } = router.state.location;
  if (pathname === '/login') return;
  queryClient.removeQueries();
  void router.navigate({ to: '/login', search: { from: `${pathname}${searchStr}` } });
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
