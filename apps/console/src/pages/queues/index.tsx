import { usePermission } from '../../api/session';
import { Page } from '../../ui/page';
import { DeadLetters } from './dead-letters';
import { RunQueue } from './run-queue';
import { ServiceQueues } from './service-queues';

/** Waiting runs, dead letters and the service's own queues. */
export function QueuesPage() {
  const mayReplay = usePermission('settings.admin');
  const seesAll = usePermission('platform.admin');
  return (
    <Page title="Queues">
      <RunQueue />
      {mayReplay && <DeadLetters ofAll={seesAll} />}
      {seesAll && <ServiceQueues />}
    </Page>
  );
}
