/** What a model, a script or a share may bring: markup, right-to-left, emoji, and a lot of it. */
export const hostileText = `<img src=x onerror="document.title='broken'"><b>bold</b> \u202Eשלום עולם\u202C 🦷👩‍⚕️ ${'x'.repeat(10_000)} the end`;
/** As a file's name: shorter, and without what a name may not have. */
export const hostileName = '<b onclick=alert(1)>שן 🦷 & "x".dex';

/** Whether a picture is there, and not only its frame. */
export const isSeen = (image: any): boolean => image.complete && image.naturalWidth > 0;
