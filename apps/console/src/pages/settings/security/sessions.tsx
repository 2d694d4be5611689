import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { authEnd, authEndOthers, authSessions, type Session, type SessionList } from '../../../api/generated';
import { useList } from '../../../api/use-list';
import { Time } from '../../../format/time';
import { Button } from '../../../ui/button';
import { ConfirmDialog } from '../../../ui/dialog';
import { ActionMenu } from '../../../ui/menu';
import { CardRow } from '../../../ui/table/card';
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
  const renderMenu = ({ id, browser, current }: Session) =>
    !current && (
      <ActionMenu
        name={browser ?? 'unknown browser'}
        actions={[{ label: 'End session', danger: true, run: () => void endSession(id) }]}
      />
    );
  return (
    <>
      <SimpleList
        title="Your sessions"
        actions={<Button onClick={() => setEnding(true)}>End all others</Button>}
        list={list}
        empty="No sessions."
        heads={['Browser', 'Address', 'Signed in', 'Last used', 'Expires', 'Actions']}
        row={(session) => (
          <tr key={session.id}>
            <td>
              <BrowserName session={session} />
            </td>
            <td>{session.address ?? 'unknown'}</td>
            <td>
              <Time at={session.createdAt} relative />
            </td>
            <td>
              <Time at={session.lastSeenAt} relative />
            </td>
            <td>
              <Time at={session.expiresAt} relative />
            </td>
            <td>{renderMenu(session)}</td>
          </tr>
        )}
        cardRow={(session) => (
          <CardRow
            key={session.id}
            title={<BrowserName session={session} />}
            facts={[
              session.address ?? 'unknown address',
              <>
                signed in <Time at={session.createdAt} relative />
              </>,
              <>
                last used <Time at={session.lastSeenAt} relative />
              </>,
              <>
                expires <Time at={session.expiresAt} relative />
              </>,
            ]}
            actions={renderMenu(session)}
          />
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

function BrowserName({ session: { browser, current } }: { session: Session }) {
  return (
    <>
      <bdi>{browser ?? 'unknown'}</bdi>
      {current && ' (this one)'}
    </>
  );
}
