export const staged: string;
