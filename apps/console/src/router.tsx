import type { QueryClient } from '@tanstack/react-query';
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router';
import { isApiError } from './api/api-error';
import { meQuery } from './api/session';
import { Frame } from './frame/frame';
import { BrokenPage, MissingPage } from './frame/broken';
import type { UrlState } from './ui/table/use-url-state';

// A page is one module in pages/, loaded on first navigation, and one route here. Its link is in frame/places.ts.
const root = createRootRouteWithContext<{ queryClient: QueryClient }>()({
  component: Outlet,
  validateSearch: (search: Record<string, unknown>): UrlState => search as UrlState,
  notFoundComponent: MissingPage,
});

const login = createRoute({
  getParentRoute: () => root,
  path: '/login',
  component: lazyRouteComponent(() => import('./pages/login'), 'LoginPage'),
});

const forgot = createRoute({
  getParentRoute: () => root,
  path: '/forgot',
  component: lazyRouteComponent(() => import('./pages/forgot'), 'ForgotPage'),
});

const reset = createRoute({
  getParentRoute: () => root,
  path: '/reset',
  component: lazyRouteComponent(() => import('./pages/reset'), 'ResetPage'),
});

const invitation = createRoute({
  getParentRoute: () => root,
  path: '/invitation',
  component: lazyRouteComponent(() => import('./pages/invitation'), 'InvitationPage'),
});

const safeguards = createRoute({
  getParentRoute: () => root,
  path: '/safeguards',
  component: lazyRouteComponent(() => import('./pages/safeguards'), 'SafeguardsPage'),
});

const framed = createRoute({
  getParentRoute: () => root,
  id: 'framed',
  component: Frame,
  beforeLoad: async ({ context, location }) => {
    try {
      await context.queryClient.ensureQueryData(meQuery);
    } catch (error) {
      if (!isApiError(error, 'unauthenticated')) throw error;
      throw redirect({ to: '/login', search: { from: location.href } });
    }
  },
});

// A page for another resource is mounted again, so that open dialogs and typed text are not carried over to it.
const createPageRoute = <P extends string>(path: P, component: ReturnType<typeof lazyRouteComponent>) =>
  createRoute({ getParentRoute: () => framed, path, component, remountDeps: ({ params }) => params });

const tree = root.addChildren([
  login,
  forgot,
  reset,
  invitation,
  safeguards,
  framed.addChildren([
    createPageRoute(
      '/',
      lazyRouteComponent(() => import('./pages/home'), 'HomePage'),
    ),
    createPageRoute(
      '/inbox',
      lazyRouteComponent(() => import('./pages/inbox'), 'InboxPage'),
    ),
    createPageRoute(
      '/agents',
      lazyRouteComponent(() => import('./pages/agents'), 'AgentsPage'),
    ),
    createPageRoute(
      '/agents/$id',
      lazyRouteComponent(() => import('./pages/agent'), 'AgentPage'),
    ),
    createPageRoute(
      '/runs',
      lazyRouteComponent(() => import('./pages/runs'), 'RunsPage'),
    ),
    createPageRoute(
      '/runs/$id',
      lazyRouteComponent(() => import('./pages/run'), 'RunPage'),
    ),
    createPageRoute(
      '/workflows',
      lazyRouteComponent(() => import('./pages/workflows'), 'WorkflowsPage'),
    ),
    createPageRoute(
      '/workflows/$id',
      lazyRouteComponent(() => import('./pages/workflow'), 'WorkflowPage'),
    ),
    createPageRoute(
      '/schedules',
      lazyRouteComponent(() => import('./pages/schedules'), 'SchedulesPage'),
    ),
    createPageRoute(
      '/schedules/$id',
      lazyRouteComponent(() => import('./pages/schedule'), 'SchedulePage'),
    ),
    createPageRoute(
      '/packs',
      lazyRouteComponent(() => import('./pages/packs'), 'PacksPage'),
    ),
    createPageRoute(
      '/packs/$id',
      lazyRouteComponent(() => import('./pages/pack'), 'PackPage'),
    ),
    createPageRoute(
      '/autopilot',
      lazyRouteComponent(() => import('./pages/autopilot'), 'AutopilotPage'),
    ),
    createPageRoute(
      '/autopilot/$id',
      lazyRouteComponent(() => import('./pages/autopilot-session'), 'AutopilotSessionPage'),
    ),
    createPageRoute(
      '/costs',
      lazyRouteComponent(() => import('./pages/costs'), 'CostsPage'),
    ),
    createPageRoute(
      '/feedback',
      lazyRouteComponent(() => import('./pages/feedback'), 'FeedbackPage'),
    ),
    createPageRoute(
      '/queues',
      lazyRouteComponent(() => import('./pages/queues'), 'QueuesPage'),
    ),
    createPageRoute(
      '/settings',
      lazyRouteComponent(() => import('./pages/settings'), 'SettingsPage'),
    ),
    createPageRoute(
      '/device',
      lazyRouteComponent(() => import('./pages/device'), 'DevicePage'),
    ),
    createPageRoute(
      '/admin',
      lazyRouteComponent(() => import('./pages/admin'), 'AdminPage'),
    ),
  ]),
]);

export function makeRouter(queryClient: QueryClient) {
  return createRouter({
    routeTree: tree,
    basepath: '/app',
    context: { queryClient },
    defaultPreload: 'intent',
    defaultErrorComponent: BrokenPage,
    defaultNotFoundComponent: MissingPage,
    scrollRestoration: true,
    // The content element scrolls instead of the window, and it stays mounted from page to page.
    scrollToTopSelectors: ['#content'],
    // Plain names and values, in the format of the API's query parameters.
    parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
    stringifySearch: (search) => {
      const textParams = Object.entries(search).filter(([, value]) => typeof value === 'string');
      const text = new URLSearchParams(textParams as [string, string][]).toString();
      return text && `?${text}`;
    },
  });
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof makeRouter>;
  }
}
