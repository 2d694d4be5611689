import { useHasRole } from '../../api/session';
import { Page } from '../../ui/page';
import { DeadLetters } from './dead-letters';
import { RunQueue } from './run-queue';
import { ServiceQueues } from './service-queues';

/** Waiting runs, dead letters and the service's own queues. */
export function QueuesPage() {
  const isAdmin = useHasRole('admin');
  const isSuperAdmin = useHasRole('super_admin');
  return (
    <Page title="Queues">
      <RunQueue />
      {isAdmin && <DeadLetters ofAll={isSuperAdmin} />}
      {isSuperAdmin && <ServiceQueues />}
    </Page>
  );
}
