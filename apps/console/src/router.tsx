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
import { Broken, Missing } from './frame/broken';
import type { UrlState } from './ui/table/use-url-state';

// A page is one module in pages/, loaded on first navigation, and one route here. Its link is in frame/places.ts.
const root = createRootRouteWithContext<{ queryClient: QueryClient }>()({
  component: Outlet,
  validateSearch: (search: Record<string, unknown>): UrlState => search as UrlState,
  notFoundComponent: Missing,
});

const login = createRoute({
  getParentRoute: () => root,
  path: '/login',
  component: lazyRouteComponent(() => import('./pages/login'), 'LoginPage'),
});

const answer = createRoute({
  getParentRoute: () => root,
  path: '/answer',
  component: lazyRouteComponent(() => import('./pages/answer'), 'AnswerPage'),
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
const page = <P extends string>(path: P, component: ReturnType<typeof lazyRouteComponent>) =>
  createRoute({ getParentRoute: () => framed, path, component, remountDeps: ({ params }) => params });

const tree = root.addChildren([
  login,
  answer,
  framed.addChildren([
    page(
      '/',
      lazyRouteComponent(() => import('./pages/home'), 'HomePage'),
    ),
    page(
      '/inbox',
      lazyRouteComponent(() => import('./pages/inbox'), 'InboxPage'),
    ),
    page(
      '/agents',
      lazyRouteComponent(() => import('./pages/agents'), 'AgentsPage'),
    ),
    page(
      '/agents/$id',
      lazyRouteComponent(() => import('./pages/agent'), 'AgentPage'),
    ),
    page(
      '/runs',
      lazyRouteComponent(() => import('./pages/runs'), 'RunsPage'),
    ),
    page(
      '/runs/$id',
      lazyRouteComponent(() => import('./pages/run'), 'RunPage'),
    ),
    page(
      '/workflows',
      lazyRouteComponent(() => import('./pages/workflows'), 'WorkflowsPage'),
    ),
    page(
      '/workflows/$id',
      lazyRouteComponent(() => import('./pages/workflow'), 'WorkflowPage'),
    ),
    page(
      '/schedules',
      lazyRouteComponent(() => import('./pages/schedules'), 'SchedulesPage'),
    ),
    page(
      '/schedules/$id',
      lazyRouteComponent(() => import('./pages/schedule'), 'SchedulePage'),
    ),
    page(
      '/packs',
      lazyRouteComponent(() => import('./pages/packs'), 'PacksPage'),
    ),
    page(
      '/packs/$id',
      lazyRouteComponent(() => import('./pages/pack'), 'PackPage'),
    ),
    page(
      '/autopilot',
      lazyRouteComponent(() => import('./pages/autopilot'), 'AutopilotPage'),
    ),
    page(
      '/autopilot/$id',
      lazyRouteComponent(() => import('./pages/autopilot-session'), 'AutopilotSessionPage'),
    ),
    page(
      '/costs',
      lazyRouteComponent(() => import('./pages/costs'), 'CostsPage'),
    ),
    page(
      '/feedback',
      lazyRouteComponent(() => import('./pages/feedback'), 'FeedbackPage'),
    ),
    page(
      '/queues',
      lazyRouteComponent(() => import('./pages/queues'), 'QueuesPage'),
    ),
    page(
      '/settings',
      lazyRouteComponent(() => import('./pages/settings'), 'SettingsPage'),
    ),
    page(
      '/device',
      lazyRouteComponent(() => import('./pages/device'), 'DevicePage'),
    ),
    page(
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
    defaultErrorComponent: Broken,
    defaultNotFoundComponent: Missing,
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
