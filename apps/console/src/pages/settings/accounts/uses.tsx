import { Link } from '@tanstack/react-router';
import { type AccountUseList, accountsUses } from '../../../api/generated';
import { useList } from '../../../api/use-list';
import { Time } from '../../../format/time';
import { AgentLink } from '../../../parts/names';
import { Dialog } from '../../../ui/dialog';
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
        row={({ jobId, agentId, from, to }) => (
          <tr key={jobId}>
            <td>
              <Link to="/runs/$id" params={{ id: jobId }}>
                {jobId.slice(-8)}
              </Link>
            </td>
            <td>
              <AgentLink id={agentId} />
            </td>
            <td>
              <Time at={from} />{' '}
              {to === null ? (
                'until now'
              ) : (
                <>
                  – <Time at={to} />
                </>
              )}
            </td>
          </tr>
        )}
      />
    </Dialog>
  );
}
