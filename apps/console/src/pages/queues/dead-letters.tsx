import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import {
  type DeadLetter,
  type DeadLetterList,
  deadLettersList,
  deadLettersReplay,
  queuesDeadLetters,
  queuesDiscard,
  queuesReplay,
} from '../../api/generated';
import { useList } from '../../api/use-list';
import { Time } from '../../format/time';
import { ConfirmDialog } from '../../ui/dialog';
import { ActionMenu } from '../../ui/menu';
import { SimpleList } from '../../ui/table/simple-list';
import { useUrlState } from '../../ui/table/use-url-state';
import { showToast, showErrorToast } from '../../ui/toast';

const getDeadLetters = (page: DeadLetterList) => page.deadLetters;

/** Messages that failed permanently: the organization's own, or those of every organization and of the service. */
export function DeadLetters({ ofAll }: { ofAll: boolean }) {
  const [{ q }] = useUrlState();
  const [leaving, setLeaving] = useState<DeadLetter | null>(null);
  const client = useQueryClient();
  const refreshQueues = () => client.invalidateQueries({ queryKey: ['queues'] });
  const list = useList({
    queryKey: ['queues', 'dead-letters', ofAll, q],
    fetchPage: (page, signal) => (ofAll ? queuesDeadLetters : deadLettersList)({ query: { ...page, q }, signal }),
    itemsOf: getDeadLetters,
  });
  const replayDeadLetter = async ({ id, name }: DeadLetter) => {
    try {
      await (ofAll ? queuesReplay : deadLettersReplay)({ path: { id } });
      showToast(`${name} is sent again with a new set of attempts.`);
    } catch (error) {
      showErrorToast(error);
    }
    await refreshQueues();
  };
  return (
    <>
      <SimpleList
        title={ofAll ? 'Dead letters of all organizations' : 'Dead letters'}
        list={list}
        search="Search dead letters"
        empty="No dead letters."
        heads={['Created', 'Queue', 'Message', 'Payload', 'Attempts', 'Error', 'Actions']}
        row={(letter) => (
          <tr key={letter.id} className="align-top">
            <td>
              <Time at={letter.createdAt} relative />
            </td>
            <td>{letter.queue}</td>
            <td>{letter.name}</td>
            <td>
              <code className="font-mono text-xs break-all">{JSON.stringify(letter.payload)}</code>
            </td>
            <td className="tabular-nums">{letter.attempts}</td>
            <td>
              <bdi className="break-words">{letter.lastError ?? '–'}</bdi>
            </td>
            <td>
              <ActionMenu
                name={`${letter.name} ${letter.id.slice(-8)}`}
                actions={[
                  { label: 'Replay', run: () => void replayDeadLetter(letter) },
                  ofAll && { label: 'Discard', danger: true, run: () => setLeaving(letter) },
                ]}
              />
            </td>
          </tr>
        )}
      />
      {leaving && (
        <ConfirmDialog
          open
          onOpenChange={() => setLeaving(null)}
          title={`Discard ${leaving.name}?`}
          verb="Discard"
          act={async () => {
            await queuesDiscard({ path: { id: leaving.id } });
            await refreshQueues();
            showToast('The message was discarded.');
          }}
        >
          The work that this message requested will not be done, unless you request the work again. This cannot be
          undone.
        </ConfirmDialog>
      )}
    </>
  );
}
