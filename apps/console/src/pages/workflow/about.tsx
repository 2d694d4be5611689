import type { Workflow } from '../../api/generated';
import { formatMoney } from '../../format/format';
import { Time } from '../../format/time';
import { formatConcurrencyKeys } from '../../parts/concurrency-keys';
import { InstallationLink } from '../../parts/installation-link';
import { FactList, Panel } from '../../ui/page';

export function WorkflowDetails({ workflow }: { workflow: Workflow }) {
  const { source, workflowPackInstallationId, maxCostUsd, concurrencyKeys } = workflow;
  return (
    <Panel title="About">
      <FactList
        facts={[
          ['Revision', workflow.revision],
          ...(source
            ? ([['Created from', source.kind === 'video' ? 'a video' : source.kind]] as [string, string][])
            : []),
          ['Cost limit', maxCostUsd === null ? 'no limit' : `${formatMoney(maxCostUsd)} per run`],
          ['Pack', workflowPackInstallationId ? <InstallationLink id={workflowPackInstallationId} /> : 'none'],
          ['Concurrency keys', <bdi className="break-words">{formatConcurrencyKeys(concurrencyKeys)}</bdi>],
          ['Changed', <Time at={workflow.updatedAt} />],
          ['Created', <Time at={workflow.createdAt} />],
        ]}
      />
    </Panel>
  );
}
