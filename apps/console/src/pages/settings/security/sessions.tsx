import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { authEnd, authEndOthers, authSessions, type SessionList } from '../../../api/generated';
import { useList } from '../../../api/use-list';
import { Time } from '../../../format/time';
import { Button } from '../../../ui/button';
import { ConfirmDialog } from '../../../ui/dialog';
import { ActionMenu } from '../../../ui/menu';
import { SimpleList } from '../../../ui/table/simple-list';
import { showToast, showErrorToast } from '../../../ui/toast';

const getSessions = (page: SessionList) => page.sessions;

/** The user's own sessions, each of which can be ended. */
export function Sessions() {
  const [isEnding, setEnding] = useState(false);
  const client = useQueryClient();
  const refreshSessions = () => client.invalidateQueries({ queryKey: ['sessions'] });
  const list = useList({
    queryKey: ['sessions'],
    fetchPage: (page, signal) => authSessions({ query: page, signal }),
    itemsOf: getSessions,
  });
  const endSession = async (id: string) => {
    try {
      await authEnd({ path: { id } });
      showToast('The session has ended.');
    } catch (error) {
      showErrorToast(error);
    }
    await refreshSessions();
  };
  return (
    <>
      <SimpleList
        title="Your sessions"
        actions={<Button onClick={() => setEnding(true)}>End all others</Button>}
        list={list}
        empty="No sessions."
        heads={['Browser', 'Address', 'Signed in', 'Last used', 'Expires', 'Actions']}
        row={({ id, browser, address, current, createdAt, lastSeenAt, expiresAt }) => (
          <tr key={id}>
            <td>
              <bdi>{browser ?? 'unknown'}</bdi>
              {current && ' (this one)'}
            </td>
            <td>{address ?? 'unknown'}</td>
            <td>
              <Time at={createdAt} relative />
            </td>
            <td>
              <Time at={lastSeenAt} relative />
            </td>
            <td>
              <Time at={expiresAt} relative />
            </td>
            <td>
              {!current && (
                <ActionMenu
                  name={browser ?? 'unknown browser'}
                  actions={[{ label: 'End session', danger: true, run: () => void endSession(id) }]}
                />
              )}
            </td>
          </tr>
        )}
      />
      {isEnding && (
        <ConfirmDialog
          open
          onOpenChange={() => setEnding(false)}
          title="End all other sessions?"
          verb="End sessions"
          act={async () => {
            const { ended } = await authEndOthers();
            await refreshSessions();
            showToast(`Ended ${ended} ${ended === 1 ? 'session' : 'sessions'}.`);
          }}
        >
          You are signed out in every other browser. This session stays active.
        </ConfirmDialog>
      )}
    </>
  );
}
