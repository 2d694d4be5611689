import { useMay } from '../../api/session';
import { Page } from '../../ui/page';
import { DeadLetters } from './dead-letters';
import { RunQueue } from './run-queue';
import { ServiceQueues } from './service-queues';

/** What waits, for how long, and what was given up. */
export function QueuesPage() {
  const isAdmin = useMay('admin');
  const isSuperAdmin = useMay('super_admin');
  return (
    <Page title="Queues">
      <RunQueue />
      {isAdmin && <DeadLetters ofAll={isSuperAdmin} />}
      {isSuperAdmin && <ServiceQueues />}
    </Page>
  );
}
