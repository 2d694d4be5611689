import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import {
  type ConcurrencyKeyList,
  type ConcurrencyKeyState,
  concurrencyKeysDelete,
  concurrencyKeysHolders,
  concurrencyKeysList,
  concurrencyKeysSet,
} from '../../api/generated';
import { usePermission } from '../../api/session';
import { useList } from '../../api/use-list';
import { Duration, Time } from '../../format/time';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import { ErrorNote } from '../../ui/error-note';
import { Form, TextField } from '../../ui/form';
import { ActionMenu } from '../../ui/menu';
import { EmptyNote, Skeleton } from '../../ui/page';
import { PlainTable } from '../../ui/table/plain-table';
import { SimpleList } from '../../ui/table/simple-list';
import { useUrlState } from '../../ui/table/use-url-state';
import { showToast, showErrorToast } from '../../ui/toast';

const getConcurrencyKeys = (page: ConcurrencyKeyList) => page.concurrencyKeys;

/** Concurrency keys: how many runs hold each key, how many runs wait for it, and the organization's own limits. */
export function Concurrency() {
  const [{ q }] = useUrlState();
  const [limiting, setLimiting] = useState<Partial<ConcurrencyKeyState> | null>(null);
  const [looking, setLooking] = useState<string | null>(null);
  const mayChange = usePermission('settings.admin');
  const client = useQueryClient();
  const list = useList({
    queryKey: ['concurrency-keys', q],
    fetchPage: (page, signal) => concurrencyKeysList({ query: { ...page, q }, signal }),
    itemsOf: getConcurrencyKeys,
  });
  const runChange = async (act: Promise<unknown>, done: string) => {
    try {
      await act;
      showToast(done);
    } catch (error) {
      showErrorToast(error);
    }
    void client.invalidateQueries({ queryKey: ['concurrency-keys'] });
  };
  const pauseKey = (key: string) =>
    runChange(concurrencyKeysSet({ body: { key, limit: 0 } }), `No run that needs ${key} starts until you resume it.`);
  const resetKeyLimit = (key: string) =>
    runChange(concurrencyKeysDelete({ query: { key } }), `${key} uses the limit of its runs again.`);
  return (
    <>
      <SimpleList
        title="Concurrency"
        actions={
          mayChange && (
            <Button look="primary" onClick={() => setLimiting({})}>
              Set a limit
            </Button>
          )
        }
        list={list}
        search="Search keys"
        empty="No run holds a concurrency key or waits for one. Add concurrency keys to a workflow or a run to limit how many runs are in progress at the same time."
        heads={['Key', 'Limit', 'Held by', 'Waiting', 'Actions']}
        row={(state) => (
          <tr key={state.key}>
            <td className="[overflow-wrap:anywhere]">
              <bdi>{state.key}</bdi>
            </td>
            <td>{state.paused ? 'paused' : state.limit}</td>
            <td>{state.held === 1 ? '1 run' : `${state.held} runs`}</td>
            <td>
              <p>{state.waiting === 1 ? '1 run' : `${state.waiting} runs`}</p>
              {state.oldestWaitingSince !== null && (
                <p className="text-xs text-dim">
                  for up to <Duration from={state.oldestWaitingSince} />
                </p>
              )}
            </td>
            <td>
              <ActionMenu
                name={state.key}
                actions={[
                  { label: 'Show the runs that hold the key', run: () => setLooking(state.key) },
                  mayChange && { label: 'Set a limit', run: () => setLimiting(state) },
                  mayChange && !state.paused && { label: 'Pause', danger: true, run: () => void pauseKey(state.key) },
                  mayChange && {
                    label: state.paused ? 'Resume' : 'Remove the organization’s limit',
                    run: () => void resetKeyLimit(state.key),
                  },
                ]}
              />
            </td>
          </tr>
        )}
      />
      <Dialog
        open={limiting !== null}
        onOpenChange={() => setLimiting(null)}
        title="Set a limit"
        description="Maximum number of runs that hold the key at the same time. If a workflow or a run specifies a smaller limit, that limit applies. 0 pauses the key."
      >
        <Form
          submit="Set limit"
          onSubmit={(values) =>
            concurrencyKeysSet({ body: { key: values.readExactText('key'), limit: values.readNumber('limit') ?? 0 } })
          }
          onDone={() => {
            setLimiting(null);
            void client.invalidateQueries({ queryKey: ['concurrency-keys'] });
          }}
        >
          <TextField
            label="Key"
            name="key"
            required
            maxLength={200}
            defaultValue={limiting?.key}
            readOnly={limiting?.key !== undefined}
          />
          <TextField
            label="Limit"
            name="limit"
            type="number"
            required
            min={0}
            max={1000}
            defaultValue={limiting?.limit ?? 1}
          />
        </Form>
      </Dialog>
      {looking !== null && <KeyHolders concurrencyKey={looking} onClose={() => setLooking(null)} />}
    </>
  );
}

function KeyHolders({ concurrencyKey: key, onClose }: { concurrencyKey: string; onClose: () => void }) {
  const { data, error } = useQuery({
    queryKey: ['concurrency-keys', 'holders', key],
    queryFn: ({ signal }) => concurrencyKeysHolders({ query: { key }, signal }),
  });
  return (
    <Dialog open onOpenChange={onClose} title={`Runs that hold ${key}`}>
      {error && <ErrorNote error={error} />}
      {!data && !error && <Skeleton rows={2} />}
      {data?.holders.length === 0 && <EmptyNote title="No run holds this key now." />}
      {data && data.holders.length > 0 && (
        <PlainTable label="Runs" heads={['Run', 'Since']}>
          {data.holders.map(({ jobId, since }) => (
            <tr key={jobId}>
              <td>
                <Link to="/runs/$id" params={{ id: jobId }}>
                  {jobId}
                </Link>
              </td>
              <td>
                <Time at={since} relative />
              </td>
            </tr>
          ))}
        </PlainTable>
      )}
    </Dialog>
  );
}
