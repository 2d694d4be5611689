import { type AccountUse, type AccountUseList, accountsUses } from '../../../api/generated';
import { useList } from '../../../api/use-list';
import { Time } from '../../../format/time';
import { AgentLink, RunLink } from '../../../parts/names';
import { Dialog } from '../../../ui/dialog';
import { CardRow } from '../../../ui/table/card';
import { SimpleList } from '../../../ui/table/simple-list';

const getPageUses = (page: AccountUseList) => page.uses;

/** The runs that have or had an account. */
export function AccountUses({ account: name, onClose }: { account: string; onClose: () => void }) {
  const list = useList({
    queryKey: ['accounts', name, 'uses'],
    fetchPage: (page, signal) => accountsUses({ path: { name }, query: page, signal }),
    itemsOf: getPageUses,
  });
  return (
    <Dialog open onOpenChange={onClose} title={`Runs with ${name}`}>
      <SimpleList
        title="Runs"
        list={list}
        empty="No run has had this account."
        heads={['Run', 'Agent', 'Time']}
        row={(use) => (
          <tr key={use.jobId}>
            <td>
              <RunLink id={use.jobId} />
            </td>
            <td>
              <AgentLink id={use.agentId} />
            </td>
            <td>
              <TimeOfUse use={use} />
            </td>
          </tr>
        )}
        cardRow={(use) => (
          <CardRow
            key={use.jobId}
            title={<RunLink id={use.jobId} />}
            facts={[<TimeOfUse use={use} />, <AgentLink id={use.agentId} />]}
          />
        )}
      />
    </Dialog>
  );
}

function TimeOfUse({ use: { from, to } }: { use: AccountUse }) {
  return (
    <>
      <Time at={from} />{' '}
      {to === null ? (
        'until now'
      ) : (
        <>
          – <Time at={to} />
        </>
      )}
    </>
  );
}
