import { useState } from 'react';
import type { PackInstallation, WorkflowPack } from '../../../api/generated';
import { usePermission } from '../../../api/session';
import { ActionMenu } from '../../../ui/menu';
import { EditInstallationDialog, PinDialog } from './installation-dialogs';

interface InstallationMenuProps {
  pack: WorkflowPack;
  installation: PackInstallation;
}

export function InstallationMenu({ pack, installation }: InstallationMenuProps) {
  const [dialog, setDialog] = useState<'pin' | 'edit' | null>(null);
  const mayChange = usePermission('packs.write');
  const closeDialog = () => setDialog(null);
  return (
    <>
      <ActionMenu
        name={installation.name}
        actions={[
          mayChange && { label: 'Pin', run: () => setDialog('pin') },
          mayChange && { label: 'Edit', run: () => setDialog('edit') },
        ]}
      />
      {dialog === 'pin' && <PinDialog pack={pack} installation={installation} close={closeDialog} />}
      {dialog === 'edit' && <EditInstallationDialog installation={installation} close={closeDialog} />}
    </>
  );
}
