import type { ReactNode } from 'react';
import type { Workflow } from '../../api/generated';
import { formatMoney } from '../../format/format';
import { Time } from '../../format/time';
import { formatAccounts } from '../../parts/guards/accounts';
import { formatConcurrencyKeys } from '../../parts/guards/concurrency-keys';
import { InstallationLink } from '../../parts/installation-link';
import { ChangesLink } from '../../parts/names';
import { FactList, Panel } from '../../ui/page';

export function WorkflowDetails({ workflow }: { workflow: Workflow }) {
  const { source, workflowPackInstallationId, maxCostUsd, concurrencyKeys, accounts } = workflow;
  const sensitive = [...workflow.sensitiveVariables, ...workflow.sensitiveResults];
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
          ['Accounts', <bdi className="break-words">{formatAccounts(accounts)}</bdi>],
          ...(sensitive.length > 0
            ? [['Sensitive', <bdi className="break-words">{sensitive.join(', ')}</bdi>] as [string, ReactNode]]
            : []),
          [
            'Changed',
            <ChangesLink id={workflow.id}>
              <Time at={workflow.updatedAt} />
            </ChangesLink>,
          ],
          ['Created', <Time at={workflow.createdAt} />],
        ]}
      />
    </Panel>
  );
}
