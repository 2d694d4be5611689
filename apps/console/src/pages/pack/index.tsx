import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import type { WorkflowPack } from '../../api/generated';
import { usePermission } from '../../api/session';
import { Time } from '../../format/time';
import { ChangesLink } from '../../parts/names';
import { Button } from '../../ui/button';
import { ErrorNote } from '../../ui/error-note';
import { FactList, Page, Panel, Skeleton } from '../../ui/page';
import { DraftPanel } from './draft';
import { EditPackDialog } from './edit-pack';
import { Installations } from './installations';
import { buildPackQuery } from './pack-queries';
import { Versions } from './versions';

export function PackPage() {
  const { id } = useParams({ strict: false }) as { id: string };
  const { data: pack, error, refetch } = useQuery(buildPackQuery(id));
  const [isEdited, setEdited] = useState(false);
  const mayChange = usePermission('packs.write');
  if (!pack) {
    return (
      <Page title="Pack">
        {error ? <ErrorNote error={error} retry={() => void refetch()} /> : <Skeleton rows={10} />}
      </Page>
    );
  }
  return (
    <Page title={pack.name} actions={mayChange && <Button onClick={() => setEdited(true)}>Edit pack</Button>}>
      {error && <ErrorNote error={error} retry={() => void refetch()} />}
      {pack.description && (
        <p dir="auto" className="text-dim">
          {pack.description}
        </p>
      )}
      <div className="grid gap-4 xl:grid-cols-[minmax(0,1fr)_minmax(0,22rem)]">
        <div className="flex min-w-0 flex-col gap-4">
          <Versions pack={pack} />
          <Installations pack={pack} />
          <DraftPanel pack={pack} />
        </div>
        <PackDetails pack={pack} />
      </div>
      {isEdited && <EditPackDialog pack={pack} close={() => setEdited(false)} />}
    </Page>
  );
}

function PackDetails({ pack }: { pack: WorkflowPack }) {
  return (
    <div className="min-w-0">
      <Panel title="About">
        <FactList
          facts={[
            ['Worker key', <code className="font-mono text-xs break-all">{pack.workerKey}</code>],
            ['Tags', <bdi>{pack.stageTags.join(', ') || '–'}</bdi>],
            ['Created', <Time at={pack.createdAt} />],
            [
              'Changed',
              <ChangesLink id={pack.id}>
                <Time at={pack.updatedAt} />
              </ChangesLink>,
            ],
          ]}
        />
      </Panel>
    </div>
  );
}
