import { useQueryClient } from '@tanstack/react-query';
import { Link, Outlet, useLocation, useNavigate } from '@tanstack/react-router';
import { CircleUser, CloudOff, Command, MessageSquareWarning } from 'lucide-react';
import { lazy, Suspense, useEffect, useState } from 'react';
import { authLogout } from '../api/generated';
import { usePermission, useCurrentUser } from '../api/session';
import { formatCount } from '../format/format';
import { useIsProofRequested } from '../live/step-up';
import { onReconnect, useConnection } from '../live/connection';
import { useOrganizationEvents } from '../live/use-organization-events';
import { useOpenAlerts } from '../parts/alert/use-open-alerts';
import { useOpenQuestions } from '../parts/question/use-open-questions';
import { Button, IconButton } from '../ui/button';
import { Menu } from '../ui/menu';
import { callWhenLoaded } from '../ui/overlay/call-when-loaded';
import { preloadSurfaces } from '../ui/overlay/use-surfaces';
import { Skeleton } from '../ui/page';
import { showErrorToast } from '../ui/toast';
import { useVisibleCurrent } from '../ui/use-visible-current';
import { OverrideNote } from './override';
import { listPlacesOf } from './places';
import { RecoveryNote } from './recovery-note';
import { SessionEnd } from './session-end';
import { setTheme, themes, useTheme } from './theme';
import { useKeys } from './use-keys';

const KeyHelp = lazy(async () => ({ default: (await import('./key-help')).KeyHelp }));
const Palette = lazy(async () => ({ default: (await import('./palette')).Palette }));
const ReportDialog = lazy(async () => ({ default: (await import('./report')).ReportDialog }));

const SecondFactorNote = lazy(async () => ({
  default: (await import('./second-factor-note')).SecondFactorNote,
}));
const StepUp = lazy(async () => ({ default: (await import('./step-up')).StepUp }));

/** The frame around every page: the navigation, the account, and notes such as a lost connection. */
export function Frame() {
  const client = useQueryClient();
  const [open, setOpen] = useState<'palette' | 'keys' | 'report' | null>(null);
  const [earlyText, setEarlyText] = useState('');
  const openPalette = () => {
    setEarlyText('');
    setOpen('palette');
  };
  const typeEarly = open === 'palette' ? (key: string) => setEarlyText((text) => text + key) : undefined;
  useKeys({ openPalette, openHelp: () => setOpen('keys'), typeEarly });
  useEffect(() => onReconnect(() => void client.invalidateQueries()), [client]);
  useOrganizationEvents();
  useEffect(() => callWhenLoaded(client, preloadSurfaces), [client]);
  // The note is not needed on localhost, because other computers cannot reach such a service.
  const isExposed = usePermission('settings.admin') && !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(location.hostname);
  const isAsked = useIsProofRequested();
  return (
    <div className="flex h-dvh flex-col lg:grid lg:grid-cols-[13.5rem_1fr] lg:grid-rows-[1fr]">
      <a
        href="#content"
        className="sr-only z-50 rounded-control bg-accent px-3 py-2 text-on-accent focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
      >
        Skip to content
      </a>
      <header className="flex shrink-0 flex-col border-line bg-surface max-lg:border-b lg:border-r">
        <div className="flex items-center px-3 py-2">
          <Link to="/" className="mr-auto flex items-center gap-2 font-semibold" aria-label="Muster, home page">
            <img src={`${import.meta.env.BASE_URL}icon.svg`} alt="" className="size-6" />
            Muster
          </Link>
          <IconButton label="Search everything (Ctrl K)" onClick={openPalette}>
            <Command aria-hidden className="size-4" />
          </IconButton>
          <IconButton label="Report a bug or an idea" onClick={() => setOpen('report')}>
            <MessageSquareWarning aria-hidden className="size-4" />
          </IconButton>
          <AccountMenu showKeys={() => setOpen('keys')} />
        </div>
        <MainNavigation />
      </header>
      {/* The content is focusable, so that a page without focusable elements can be scrolled with the keyboard. */}
      <main
        id="content"
        tabIndex={0}
        className="relative min-h-0 min-w-0 grow overflow-y-auto focus-visible:-outline-offset-2"
      >
        <OfflineNote />
        <SessionEnd />
        <OverrideNote />
        <RecoveryNote />
        <Suspense>{isExposed && <SecondFactorNote />}</Suspense>
        <Suspense
          fallback={
            <div className="p-5">
              <Skeleton rows={8} />
            </div>
          }
        >
          <Outlet />
        </Suspense>
      </main>
      <Suspense>
        {open === 'palette' && <Palette earlyText={earlyText} close={() => setOpen(null)} />}
        {open === 'keys' && <KeyHelp close={() => setOpen(null)} />}
        {open === 'report' && <ReportDialog close={() => setOpen(null)} />}
      </Suspense>
      <Suspense>{isAsked && <StepUp />}</Suspense>
    </div>
  );
}

function MainNavigation() {
  const { user } = useCurrentUser();
  const mayAnswer = usePermission('runs.write');
  const { pathname } = useLocation();
  const links = useVisibleCurrent<HTMLElement>('[aria-current=page]', pathname);
  return (
    <nav ref={links} aria-label="Main" className="flex gap-0.5 px-2 max-lg:overflow-x-auto max-lg:pb-2 lg:flex-col">
      {listPlacesOf(user).map(({ name, to, icon: Icon }) => (
        <Link
          key={to}
          to={to}
          activeOptions={{ exact: to === '/', includeSearch: false }}
          className="flex shrink-0 items-center gap-2.5 rounded-control px-2.5 py-1.5 text-dim hover:bg-sunken hover:text-ink
              aria-[current=page]:bg-picked aria-[current=page]:font-medium aria-[current=page]:text-ink"
        >
          <Icon aria-hidden className="size-4" />
          {name}
          {to === '/inbox' && mayAnswer && <InboxCount />}
        </Link>
      ))}
    </nav>
  );
}

/** Number of open questions and of alerts that nobody has acknowledged, with a plus if more exist than are loaded. */
function InboxCount() {
  const questions = useOpenQuestions();
  const alerts = useOpenAlerts();
  const count = questions.items.length + alerts.items.filter(({ acknowledgedBy }) => acknowledgedBy === null).length;
  if (count === 0) return null;
  return (
    <span
      data-testid="open-questions"
      className="ml-auto rounded-full bg-accent px-1.5 text-xs text-on-accent tabular-nums"
    >
      {formatCount(count)}
      {(questions.hasMore || alerts.hasMore) && '+'}
      <span className="sr-only"> open</span>
    </span>
  );
}

function AccountMenu({ showKeys }: { showKeys: () => void }) {
  const { user, organization } = useCurrentUser();
  const theme = useTheme();
  const navigate = useNavigate();
  const client = useQueryClient();
  const signOut = async () => {
    try {
      await authLogout();
    } catch (error) {
      return showErrorToast(error);
    }
    client.clear();
    await navigate({ to: '/login' });
  };
  return (
    <Menu
      label="Account"
      icon={<CircleUser aria-hidden className="size-5" />}
      head={
        <div className="max-w-64 px-2.5 py-1.5 text-xs text-dim">
          <p className="truncate font-medium text-ink">{user.email}</p>
          <p className="truncate">
            <bdi>{organization.name}</bdi> · {user.role}
          </p>
        </div>
      }
      actions={[
        ...themes
          .filter((each) => each !== theme)
          .map((each) => ({ label: `Theme: ${each}`, run: () => setTheme(each) })),
        { label: 'Keyboard shortcuts', run: showKeys },
        { label: 'Sign out', run: () => void signOut() },
      ]}
    />
  );
}

function OfflineNote() {
  const connection = useConnection();
  return (
    <div role="status" className="sticky top-0 z-30">
      {connection === 'offline' && (
        <div className="flex items-center gap-2 bg-warn-soft px-4 py-2 text-warn">
          <CloudOff aria-hidden className="size-4" />
          <span className="grow">
            Offline: the connection is lost. This page updates when the service can be reached again.
          </span>
          <Button look="quiet" onClick={() => location.reload()}>
            Reload
          </Button>
        </div>
      )}
    </div>
  );
}
