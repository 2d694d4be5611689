import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { adminUsageReconcile, adminUsageUsage } from '../../api/generated';
import { formatCount, formatMoney } from '../../format/format';
import { Time } from '../../format/time';
import { Button } from '../../ui/button';
import { ErrorNote } from '../../ui/error-note';
import { FactList, Panel, Skeleton } from '../../ui/page';
import { showToast } from '../../ui/toast';
import { PlainTable } from '../../ui/table/plain-table';

/** Usage of every organization this month, and whether the usage counters match the events that they count. */
export function UsageCounters() {
  const client = useQueryClient();
  const { data, error, refetch } = useQuery({
    queryKey: ['admin-usage', 'month'],
    queryFn: ({ signal }) => adminUsageUsage({ query: { limit: 200 }, signal }),
  });
  const comparing = useMutation({
    mutationFn: () => adminUsageReconcile(),
    onSuccess: async ({ differing }) => {
      await client.invalidateQueries({ queryKey: ['admin-usage'] });
      showToast(
        differing === 0 ? 'All counters are correct.' : `${differing} counters differ from the events that they count.`,
      );
    },
  });
  if (!data) return error ? <ErrorNote error={error} retry={() => void refetch()} /> : <Skeleton rows={6} />;
  return (
    <div className="flex flex-col gap-4">
      <Panel
        title="Counters"
        actions={
          <Button busy={comparing.isPending} onClick={() => comparing.mutate()}>
            Compare now
          </Button>
        }
      >
        {comparing.isError && <ErrorNote error={comparing.error} />}
        <FactList
          facts={[
            ['Last compared', <Time at={data.reconciledAt} />],
            ['Organizations', formatCount(data.organizations)],
            ['Differing counters', formatCount(data.differing)],
          ]}
        />
      </Panel>
      <Panel title={`Usage in ${data.month}`}>
        <PlainTable
          label="Usage of organizations"
          heads={['Organization', 'Runs', 'Completed', 'Failed', 'Cancelled', 'Minutes', 'Spend']}
        >
          {data.usage.map((usage) => (
            <tr key={usage.organizationId}>
              <td>
                <bdi>{usage.name}</bdi>
              </td>
              <td>{formatCount(usage.runs)}</td>
              <td>{formatCount(usage.completed)}</td>
              <td>{formatCount(usage.failed)}</td>
              <td>{formatCount(usage.cancelled)}</td>
              <td>{formatCount(Math.round(usage.runMinutes))}</td>
              <td>{formatMoney(usage.spendUsd)}</td>
            </tr>
          ))}
        </PlainTable>
      </Panel>
    </div>
  );
}
